# SPDX-License-Identifier: GPL-2.0
#
# Each register against its table. $1: the table.
. /root/lib.sh

writable_msrs
/root/qpmu 1 check < "/root/$1"
finish
