# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#cython: language_level=3


cdef extern from 'infiniband/kwarpdv.h':

    cpdef enum:
        KWARP_ATTACH_REQ_REP
        KWARP_ATTACH_START_KEY
        KWARP_ATTACH_NONE

    cpdef enum:
        KWARP_ATTACH_INITIATOR
        KWARP_ATTACH_RESPONDER

    cpdef enum:
        KWARP_ATTACH_POLICY
        KWARP_ATTACH_OFF
        KWARP_ATTACH_ON

    cpdef enum:
        KWARP_ATTACH_IETF

    cpdef enum:
        KWARP_ATTACH_MESSAGE_MAX
        KWARP_ATTACH_PRIVATE_DATA_MAX
        KWARP_ATTACH_WAIT_MAX_MS
        KWARP_ATTACH_TIMEOUT_MAX_MS
