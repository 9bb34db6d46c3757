/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the lower layers' sockets have in common. */
#ifndef _KWARP_LLP_SOCKET_H
#define _KWARP_LLP_SOCKET_H

#include "llp/llp.h"

/* Length of an address as bind() and connect() expect it, or -EAFNOSUPPORT. */
int kwarp_socket_addr_len(const struct sockaddr_storage *ss);

/**
 * kwarp_socket_open() - create a socket for kwarp_socket_bind()
 * @bind:	its place
 * @protocol:	IPPROTO_TCP or IPPROTO_SCTP
 * @hold_net:	hold the namespace, as a user's socket does: after close the protocol still
 *		retransmits what it has accepted, with timers in a live namespace
 *
 * Context: process, may load a module.
 * Return: the socket, or ERR_PTR() with the socket layer's error.
 */
struct socket *kwarp_socket_open(const struct kwarp_llp_bind *bind, int protocol,
				 bool hold_net);

/* Bind it to the netdev and address of @bind. Return: 0 or the socket layer's error. */
int kwarp_socket_bind(struct socket *sock, const struct kwarp_llp_bind *bind);

/**
 * kwarp_socket_connect() - begin to connect; the callbacks report the result
 * @sock:	with callbacks
 * @remote:	the peer
 *
 * Context: process.
 * Return: 0, -EAFNOSUPPORT, or the socket layer's error.
 */
int kwarp_socket_connect(struct socket *sock, const struct sockaddr_storage *remote);

/* A child holds the namespace even if its listener does not. Return: 0, -ECONNABORTED. */
int kwarp_socket_hold_net(struct sock *sk);

/* The callbacks of a lower layer, as in struct sock. */
struct kwarp_socket_calls {
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);
};

/**
 * kwarp_socket_hook() - install callbacks on a socket
 * @llp:	initialised, no socket yet
 * @sock:	the socket; not hooked yet
 * @calls:	the lower layer's callbacks
 *
 * @listener:	the listener if @sock is its child, or NULL
 *
 * A child inherits some of its listener's callbacks; these are not saved as its own.
 */
void kwarp_socket_hook(struct kwarp_llp *llp, struct socket *sock,
		       const struct kwarp_socket_calls *calls,
		       const struct kwarp_llp *listener);

/* Restore the socket's own callbacks. The caller must wait for callbacks in progress. */
void kwarp_socket_unhook(struct kwarp_llp *llp);

/*
 * The connection of a socket, with a reference, or NULL once it is unhooked. Context: any.
 */
struct kwarp_llp *kwarp_socket_llp(struct sock *sk);

/* End a connection whose socket may still be open in a program: llp->taken. */
void kwarp_take_close(struct kwarp_llp *llp, bool abort);

/*
 * Attached connection: first what has arrived, then the end of the stream, once, as
 * ops->over() reports it. Context: socket lock held, llp->qp set.
 */
void kwarp_socket_poll(struct kwarp_llp *llp);

#endif /* _KWARP_LLP_SOCKET_H */
