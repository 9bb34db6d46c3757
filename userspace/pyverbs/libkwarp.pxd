# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#cython: language_level=3

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libcpp cimport bool
cimport pyverbs.libibverbs as v


cdef extern from 'infiniband/kwarpdv.h':

    cdef enum kwarp_attach_form:
        pass

    cdef enum kwarp_attach_role:
        pass

    cdef enum kwarp_attach_choice:
        pass

    cdef struct kwarp_attach_result:
        int32_t status
        uint16_t ird
        uint16_t ord
        uint8_t crc
        uint8_t tx_markers
        uint8_t rx_markers
        uint8_t mpa_rev
        uint16_t private_data_len

    cdef struct kwarpdv_attach_attr:
        kwarp_attach_form form
        kwarp_attach_role role
        kwarp_attach_choice crc
        kwarp_attach_choice markers
        kwarp_attach_choice p2p
        uint8_t mpa_rev
        uint16_t flags
        uint16_t ird
        uint16_t ord
        uint32_t timeout_ms
        const void *message
        size_t message_len
        const void *private_data
        size_t private_data_len

    cdef struct kwarpdv_attach_result:
        kwarp_attach_result agreed
        uint8_t *private_data

    bool kwarpdv_is_supported(v.ibv_device *device)
    int kwarpdv_attach_start(v.ibv_qp *qp, int fd,
                             const kwarpdv_attach_attr *attr) nogil
    int kwarpdv_attach_wait(v.ibv_qp *qp, uint32_t ms,
                            kwarpdv_attach_result *result) nogil
    int kwarpdv_attach(v.ibv_qp *qp, int fd, const kwarpdv_attach_attr *attr,
                       kwarpdv_attach_result *result) nogil
