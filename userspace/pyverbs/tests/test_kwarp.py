# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""
Test module for the direct verbs of kwarp: queue pairs over TCP connections that
the program has made itself.
"""

import errno
import ipaddress
import os
import socket
import threading

from pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SendWR, SGE
from pyverbs.libibverbs_enums import ibv_access_flags as Access, \
    ibv_qp_attr_mask as Mask, ibv_qp_state as State, ibv_qp_type as Type, \
    ibv_wr_opcode as Opcode
import pyverbs.providers.kwarp.kwarp_enums as dve
import pyverbs.providers.kwarp.kwarpdv as dv

from tests.base import PyverbsAPITestCase
import tests.utils as u

import unittest

LENGTH = 4096
ACCESS = Access.IBV_ACCESS_LOCAL_WRITE | Access.IBV_ACCESS_REMOTE_WRITE | \
    Access.IBV_ACCESS_REMOTE_READ


class End:
    """
    One end of a connection: a queue pair in INIT with a posted receive, and a
    socket.
    """
    def __init__(self, ctx, sock):
        self.sock = sock
        self.pd = PD(ctx)
        self.cq = CQ(ctx, 16)
        self.mr = MR(self.pd, LENGTH, ACCESS)
        self.other = MR(self.pd, LENGTH, ACCESS)
        cap = QPCap(max_send_wr=8, max_recv_wr=8)
        init = QPInitAttr(qp_type=Type.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                          cap=cap)
        self.qp = dv.KwarpQP(self.pd, init)
        attr = QPAttr(qp_state=State.IBV_QPS_INIT, port_num=1)
        attr.qp_access_flags = ACCESS
        self.qp.modify(attr, Mask.IBV_QP_STATE | Mask.IBV_QP_PKEY_INDEX |
                       Mask.IBV_QP_PORT | Mask.IBV_QP_ACCESS_FLAGS)
        sge = SGE(self.other.buf, LENGTH, self.other.lkey)
        self.qp.post_recv(RecvWR(num_sge=1, sg=[sge]))

    def send(self, opcode, text, remote=None):
        self.mr.write(text, len(text))
        wr = SendWR(num_sge=1, opcode=opcode,
                    sg=[SGE(self.mr.buf, len(text), self.mr.lkey)])
        if remote:
            wr.set_wr_rdma(remote.rkey, remote.buf)
        self.qp.post_send(wr)

    def close(self):
        self.sock.close()
        for o in (self.qp, self.cq, self.mr, self.other, self.pd):
            o.close()


class KwarpAPITest(PyverbsAPITestCase):
    """
    Both ends of each connection are on one device.
    """
    def setUp(self):
        super().setUp()
        name = self.dev_name
        try:
            self.dv_ctx = dv.KwarpContext(name)
        except PyverbsUserError as ex:
            raise unittest.SkipTest(f'{name} is not a kwarp device') from ex
        self.address = self.find_address()
        self.ends = []

    def tearDown(self):
        for end in self.ends:
            end.close()
        if hasattr(self, 'dv_ctx'):
            self.dv_ctx.close()
        super().tearDown()

    def find_address(self):
        """
        An IPv4 address of the device: its GIDs are those of its interface.
        """
        for index in range(8):
            gid = ipaddress.IPv6Address(self.ctx.query_gid(1, index).gid)
            if gid.ipv4_mapped:
                return str(gid.ipv4_mapped)
        raise unittest.SkipTest('The device has no IPv4 address')

    def connected(self):
        """
        The two ends of a TCP connection, with a queue pair each.
        """
        with socket.create_server((self.address, 0)) as listener:
            client = socket.create_connection(listener.getsockname())
            server, _ = listener.accept()
        self.ends = [End(self.dv_ctx, client), End(self.dv_ctx, server)]
        return self.ends

    def attached(self, **kwargs):
        """
        Both ends attached to their sockets with the same parameters.
        :return: The ends and their results, the initiator's first
        """
        a, b = self.connected()
        attrs = [dv.KwarpAttachAttr(role=role, **kwargs)
                 for role in (dve.KWARP_ATTACH_INITIATOR,
                              dve.KWARP_ATTACH_RESPONDER)]
        # The responder answers in the background; one thread can do both.
        b.qp.attach_start(b.sock.fileno(), attrs[1])
        result = a.qp.attach(a.sock.fileno(), attrs[0])
        answer = None
        while not answer:
            answer = b.qp.attach_wait()
        return a, b, result, answer

    def state(self, end):
        attr, _ = end.qp.query(Mask.IBV_QP_STATE)
        return attr.qp_state

    def error_of(self, function, *args):
        with self.assertRaises(PyverbsRDMAError) as caught:
            function(*args)
        return caught.exception.error_code

    def messages(self, a, b):
        """
        A Send and an RDMA Write, compared where they arrive.
        """
        a.send(Opcode.IBV_WR_SEND, 'a message')
        u.poll_cq(a.cq)
        u.poll_cq(b.cq)
        self.assertEqual(b.other.read(9, 0).decode(), 'a message')
        a.send(Opcode.IBV_WR_RDMA_WRITE, 'some data', b.mr)
        u.poll_cq(a.cq)
        # A completion of the Write does not say that the peer has the data. An
        # RDMA Read of the same memory does.
        a.send(Opcode.IBV_WR_RDMA_READ, 'not these', b.mr)
        u.poll_cq(a.cq)
        self.assertEqual(b.mr.read(9, 0).decode(), 'some data')
        self.assertEqual(a.mr.read(9, 0).decode(), 'some data')

    def test_request_and_reply(self):
        """
        Startup with request and reply, depths and private data.
        """
        a, b, result, answer = self.attached(ird=4, ord=4,
                                             private_data=b'hello')
        self.assertEqual(self.state(a), State.IBV_QPS_RTS)
        self.assertEqual(self.state(b), State.IBV_QPS_RTS)
        for r in (result, answer):
            self.assertEqual(r.private_data, b'hello')
            self.assertEqual((r.ird, r.ord), (4, 4))
            self.assertEqual(r.mpa_rev, 2)
        self.messages(a, b)

    def test_crc_and_markers(self):
        """
        What was asked for is what both ends have agreed on.
        """
        on = dve.KWARP_ATTACH_ON
        a, b, result, answer = self.attached(crc=on, markers=on, ird=1, ord=1)
        for r in (result, answer):
            self.assertTrue(r.crc)
            self.assertTrue(r.tx_markers)
            self.assertTrue(r.rx_markers)
        self.messages(a, b)

    def test_revision_1(self):
        """
        Revision 1 has no depths in its frames.
        """
        a, b, result, answer = self.attached(mpa_rev=1, ird=2, ord=2,
                                             p2p=dve.KWARP_ATTACH_OFF)
        self.assertEqual(result.mpa_rev, 1)
        self.assertEqual(answer.mpa_rev, 1)
        self.messages(a, b)

    def test_start_keys(self):
        """
        Startup with Start Keys, behind a message of the program's own.
        """
        a, b = self.connected()
        attr = dv.KwarpAttachAttr(form=dve.KWARP_ATTACH_START_KEY, ird=1, ord=1,
                                  role=dve.KWARP_ATTACH_RESPONDER,
                                  message=b'OK\n')
        b.qp.attach_start(b.sock.fileno(), attr)
        self.assertEqual(a.sock.recv(3), b'OK\n')
        attr = dv.KwarpAttachAttr(form=dve.KWARP_ATTACH_START_KEY, ird=1, ord=1,
                                  role=dve.KWARP_ATTACH_INITIATOR)
        a.qp.attach(a.sock.fileno(), attr)
        while not b.qp.attach_wait():
            pass
        self.messages(a, b)

    def test_descriptor_afterwards(self):
        """
        The program's descriptor stays, and does nothing any more.
        """
        a, b, _, _ = self.attached(ird=1, ord=1)
        with self.assertRaises(OSError) as caught:
            a.sock.send(b'x')
        self.assertEqual(caught.exception.errno, errno.EOPNOTSUPP)
        self.assertEqual(a.sock.getpeername()[0], self.address)
        a.sock.close()
        b.sock.close()
        self.messages(a, b)

    def test_peer_leaves(self):
        """
        A peer that closes its connection in place of an answer.
        """
        a, b = self.connected()
        # With revision 2 it could be a peer that does not know it.
        a.qp.attach_start(a.sock.fileno(), dv.KwarpAttachAttr(mpa_rev=1))
        # Of bytes that nobody has read the end would be a reset.
        b.sock.recv(512)
        b.sock.close()

        def wait():
            while not a.qp.attach_wait():
                pass
        self.assertEqual(self.error_of(wait), errno.ECONNRESET)
        self.assertEqual(self.state(a), State.IBV_QPS_INIT)

    def test_refused(self):
        """
        What is not a connected TCP socket is refused, and nothing changes.
        """
        a, b = self.connected()
        attr = dv.KwarpAttachAttr()
        start = a.qp.attach_start
        self.assertEqual(self.error_of(a.qp.attach_wait, 0), errno.ENOENT)
        self.assertEqual(self.error_of(start, -1, attr), errno.EBADF)
        with open(os.devnull, 'rb') as file:
            self.assertEqual(self.error_of(start, file.fileno(), attr),
                             errno.ENOTSOCK)
        with socket.socket() as sock:
            self.assertEqual(self.error_of(start, sock.fileno(), attr),
                             errno.ENOTCONN)
        with socket.socket(type=socket.SOCK_DGRAM) as sock:
            self.assertEqual(self.error_of(start, sock.fileno(), attr),
                             errno.ESOCKTNOSUPPORT)
        too_much = bytes(dve.KWARP_ATTACH_MESSAGE_MAX + 1)
        self.assertEqual(self.error_of(start, a.sock.fileno(),
                                       dv.KwarpAttachAttr(message=too_much)),
                         errno.EINVAL)
        # The socket still is the program's.
        a.sock.send(b'x')
        self.assertEqual(b.sock.recv(1), b'x')

    def test_twice(self):
        """
        A socket belongs to one queue pair, a queue pair to one socket.
        """
        a, b, _, _ = self.attached(ird=1, ord=1)
        attr = dv.KwarpAttachAttr()
        self.assertIn(self.error_of(b.qp.attach_start, a.sock.fileno(), attr),
                      (errno.EINVAL, errno.EBUSY))
        extra = End(self.dv_ctx, socket.socket())
        self.ends.append(extra)
        self.assertEqual(self.error_of(extra.qp.attach_start, a.sock.fileno(),
                                       attr), errno.EBUSY)

    def test_waits_beside_other_threads(self):
        """
        A thread that waits does not keep others from running.
        """
        a, b = self.connected()
        results = []

        def responder():
            attr = dv.KwarpAttachAttr(role=dve.KWARP_ATTACH_RESPONDER, ird=1,
                                      ord=1)
            results.append(b.qp.attach(b.sock.fileno(), attr))
        thread = threading.Thread(target=responder)
        thread.start()
        a.qp.attach(a.sock.fileno(), dv.KwarpAttachAttr(ird=1, ord=1))
        thread.join(u.POLL_CQ_TIMEOUT)
        self.assertFalse(thread.is_alive())
        self.assertEqual(len(results), 1)
        self.messages(a, b)


class KwarpContextTest(PyverbsAPITestCase):
    """
    The context alone.
    """
    def test_context(self):
        """
        A context can be opened on kwarp devices, and on no others.
        """
        try:
            with dv.KwarpContext(self.dev_name) as ctx:
                self.assertEqual(ctx.query_device().vendor_id,
                                 self.attr.vendor_id)
        except PyverbsUserError as ex:
            raise unittest.SkipTest('Not a kwarp device') from ex
