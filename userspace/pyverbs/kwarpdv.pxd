# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#cython: language_level=3

cimport pyverbs.providers.kwarp.libkwarp as dv

from pyverbs.base cimport PyverbsObject
from pyverbs.device cimport Context
from pyverbs.qp cimport QP


cdef class KwarpContext(Context):
    pass


cdef class KwarpAttachAttr(PyverbsObject):
    cdef dv.kwarpdv_attach_attr attr
    cdef object _message
    cdef object _private_data


cdef class KwarpAttachResult(PyverbsObject):
    cdef dv.kwarpdv_attach_result result


cdef class KwarpQP(QP):
    pass
