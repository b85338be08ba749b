# SPDX-License-Identifier: GPL-2.0
#
# What only ring 0 can see: the module prints its results when it loads.
# Arguments: the module's parameters.
. /root/lib.sh

taskset 2 insmod /root/ring0.ko "$@" 2>/dev/null
dmesg | sed -n 's/.*ring0: //p'
finish
