)

publish_headers(infiniband
  ../../kernel-headers/rdma/kwarp_user_ioctl_verbs.h
  kwarpdv.h
)

rdma_pkg_config("kwarp" "libibverbs" "${CMAKE_THREAD_LIBS_INIT}")
