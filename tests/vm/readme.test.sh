#!/bin/bash
# readme: the commands of README.md's section "On a laptop", as they are written there, and what
# they print, on a machine with systemd on which the packages are installed. Nothing can be built
# or fetched there: the checkout is read-only, and there is no network.
# Machine: systemd
# Timeout: 900
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/page.sh"

page_steps "${KWARP_PAGE:-$(realpath "$(dirname "$0")/../../README.md")}" 'On a laptop'
done_testing
