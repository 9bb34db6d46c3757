/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Functions for the sockets of all lower layers. */
#ifndef _KWARP_LLP_SOCKET_H
#define _KWARP_LLP_SOCKET_H

#include "llp/llp.h"

/* Return: length of an address, for bind() and connect(), or -EAFNOSUPPORT. */
int kwarp_socket_addr_len(const struct sockaddr_storage *ss);
struct socket *kwarp_socket_open(const struct kwarp_llp_bind *bind, int protocol);

/* Bind to the netdev and address of @bind. Return: 0 or the socket layer's error. */
int kwarp_socket_bind(struct socket *sock, const struct kwarp_llp_bind *bind);
int kwarp_socket_connect(struct socket *sock, const struct sockaddr_storage *remote);
int kwarp_socket_hold_net(struct sock *sk);

/* Callbacks of a lower layer, for the fields of struct sock with the same names. */
struct kwarp_socket_calls {
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);
};

int kwarp_socket_hook(struct kwarp_llp *llp, struct socket *sock,
		      const struct kwarp_socket_calls *calls,
		      const struct kwarp_llp *listener);
void kwarp_socket_unhook(struct kwarp_llp *llp);
struct kwarp_llp *kwarp_socket_llp(struct sock *sk);
void kwarp_take_close(struct kwarp_llp *llp, enum kwarp_ending ending);
void kwarp_socket_poll(struct kwarp_llp *llp);

#endif /* _KWARP_LLP_SOCKET_H */
