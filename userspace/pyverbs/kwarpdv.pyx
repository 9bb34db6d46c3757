# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

from libc.stdint cimport uint32_t
import errno

cimport pyverbs.providers.kwarp.libkwarp as dv

from pyverbs.base import PyverbsRDMAError
from pyverbs.pyverbs_error import PyverbsUserError
from pyverbs.base cimport PyverbsObject
from pyverbs.device cimport Context
from pyverbs.qp cimport QP


cdef class KwarpContext(Context):
    """
    A context of a kwarp device.
    """
    def __init__(self, name=''):
        """
        Open a kwarp device.
        :param name: The name of the device
        """
        super().__init__(name=name)
        if not dv.kwarpdv_is_supported(self.context.device):
            self.close()
            raise PyverbsUserError(f'{name} is not a kwarp device')


cdef class KwarpAttachAttr(PyverbsObject):
    """
    Parameters for the start of MPA on a TCP connection: struct
    kwarpdv_attach_attr.
    """
    def __init__(self, form=0, role=0, crc=0, markers=0, p2p=0, mpa_rev=0,
                 flags=0, ird=0, ord=0, timeout_ms=0, message=b'',
                 private_data=b''):
        """
        :param form: Request and reply, Start Keys, or no startup frames
        :param role: Initiator or responder
        :param crc: CRCs: by the policy of the device, off, or on
        :param markers: Ask the peer for markers: by policy, off, or on
        :param p2p: As initiator request the peer-to-peer model: by policy, off,
                    or on
        :param mpa_rev: Highest revision; 0: by policy
        :param flags: KWARP_ATTACH_IETF
        :param ird: Inbound RDMA Reads
        :param ord: Outbound RDMA Reads
        :param timeout_ms: Limit of each wait for the peer; 0: by policy
        :param message: Last message of the program's own protocol
        :param private_data: Private data of the request or reply
        """
        super().__init__()
        # Keep references, because the structure has pointers to the data.
        self._message = bytes(message)
        self._private_data = bytes(private_data)
        self.attr.form = form
        self.attr.role = role
        self.attr.crc = crc
        self.attr.markers = markers
        self.attr.p2p = p2p
        self.attr.mpa_rev = mpa_rev
        self.attr.flags = flags
        self.attr.ird = ird
        self.attr.ord = ord
        self.attr.timeout_ms = timeout_ms
        self.attr.message = <const char *>self._message
        self.attr.message_len = len(self._message)
        self.attr.private_data = <const char *>self._private_data
        self.attr.private_data_len = len(self._private_data)


cdef class KwarpAttachResult(PyverbsObject):
    """
    The agreed parameters: struct kwarpdv_attach_result.
    """
    @property
    def ird(self):
        return self.result.agreed.ird

    @property
    def ord(self):
        return self.result.agreed.ord

    @property
    def crc(self):
        return self.result.agreed.crc

    @property
    def tx_markers(self):
        return self.result.agreed.tx_markers

    @property
    def rx_markers(self):
        return self.result.agreed.rx_markers

    @property
    def mpa_rev(self):
        return self.result.agreed.mpa_rev

    @property
    def private_data(self):
        length = self.result.agreed.private_data_len
        return bytes(self.result.private_data[i] for i in range(length))

    def __str__(self):
        return '\n'.join(f'{name:12}: {getattr(self, name)}'
                         for name in ('ird', 'ord', 'crc', 'tx_markers',
                                      'rx_markers', 'mpa_rev', 'private_data'))


cdef class KwarpQP(QP):
    """
    A queue pair that can be attached to a program's own TCP connection while it
    is in state INIT.
    """
    def attach_start(self, fd, KwarpAttachAttr attr not None):
        """
        Hand over a connected TCP socket; MPA starts in the background.
        :param fd: The socket's descriptor
        :param attr: A KwarpAttachAttr
        """
        cdef int c_fd = fd
        cdef int rc

        with nogil:
            rc = dv.kwarpdv_attach_start(self.qp, c_fd, &attr.attr)
        if rc:
            raise PyverbsRDMAError('Failed to attach a socket', rc)

    def attach_wait(self, ms=1000):
        """
        Wait until MPA has started.
        :param ms: Limit in milliseconds, up to 1000
        :return: A KwarpAttachResult, or None if startup is not complete
        """
        result = KwarpAttachResult()
        cdef dv.kwarpdv_attach_result *c_result = &result.result
        cdef uint32_t c_ms = ms
        cdef int rc

        with nogil:
            rc = dv.kwarpdv_attach_wait(self.qp, c_ms, c_result)
        if rc == errno.EAGAIN:
            return None
        if rc:
            raise PyverbsRDMAError('MPA has not started', rc)
        return result

    def attach(self, fd, KwarpAttachAttr attr not None):
        """
        Hand over a connected TCP socket and wait until MPA has started.
        :param fd: The socket's descriptor
        :param attr: A KwarpAttachAttr
        :return: A KwarpAttachResult
        """
        result = KwarpAttachResult()
        cdef dv.kwarpdv_attach_result *c_result = &result.result
        cdef int c_fd = fd
        cdef int rc

        with nogil:
            rc = dv.kwarpdv_attach(self.qp, c_fd, &attr.attr, c_result)
        if rc:
            raise PyverbsRDMAError('Failed to attach a socket', rc)
        return result
