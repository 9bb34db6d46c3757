#!/bin/bash
# programs.sh: makes the copy of the tree for suites with a line "# Machine: programs". The copy has
# packages that are too large or too special for the tree. Builds tests/programs in the copy, into
# build/programs.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/vm/page.sh"
need_root
lock programs
copy=$BUILD/copies/programs
packages=$TOP/scripts/build/packages.programs

stamp=$({ cat "$packages" && list "$TREE/stamp"; } | sha256sum)
if [ "$(cat "$copy/stamp" 2>/dev/null)" != "$stamp" ]; then
	step 'packages of consumers'
	copy programs
	# shellcheck disable=SC2046 # names of packages
	quietly "$BUILD/log/programs-install.log" in_copy programs -w / sh -ec '
		apt-get update -q
		apt-get install -y -q --no-install-recommends "$@"
		apt-get clean' sh $(list "$packages")
	echo "$stamp" >"$copy/stamp"
fi

step 'tests/programs'
quietly "$BUILD/log/tests-programs.log" in_copy programs -w /src/tests/programs \
	make -s O=/src/build/programs

# Build Valkey with the commands of the guide. A failure here concerns the suite vm-valkey only.
commands=$(page_commands "$TOP/Documentation/guide.rst" 'Building Valkey' | awk 'BEGIN {
	RS = "\036"; FS = "\037" } { print $2 }')
if [ "$(cat "$copy/valkey" 2>/dev/null)" != "$commands" ]; then
	step 'Valkey'
	if in_copy programs -w /usr/local/src bash -ec "
		echo 'APT::Get::Assume-Yes true;' >/etc/apt/apt.conf.d/90yes
		rm -rf valkey*
		$commands" >"$BUILD/log/programs-valkey.log" 2>&1; then
		echo "$commands" >"$copy/valkey"
	else
		echo "no Valkey: $BUILD/log/programs-valkey.log" >&2
	fi
fi
