#!/bin/bash
# series.sh: prepares a copy of the tree, in which the suite "series" builds and checks the patches
# of "make series": what rdma-core needs for its manual pages and pyverbs, and what the kernel's and
# rdma-core's own checks need. Kept for other checkouts.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/kept.sh"
need_root
lock series-tools

packages=(
	# manual pages, pages of the kernel
	pandoc python3-docutils python3-sphinx python3-yaml
	# pyverbs
	cython3 python3-dev
	# check-build; checkpatch's check of licences
	python3-git python3-pkg-resources python3-ply
	# parts of rdma-core
	libsystemd-dev
)
key=$({ cat "$0" "$TREE/stamp"; tree_kver; } | checksum)
kept_copy series "$key" in_copy series -w / sh -ec '
	apt-get update
	apt-get install -y -q --no-install-recommends "$@"
	apt-get clean' sh "${packages[@]}"
