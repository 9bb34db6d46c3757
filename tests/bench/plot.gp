# gnuplot plot.gp, in the directory of the data: the figures of "make bench" as SVG
set terminal svg size 760,440 dynamic background rgb 'white' font 'sans,13'
set key top left
set grid ytics lc rgb '#dddddd'
set style data linespoints
set logscale xy
set xlabel 'message, octets'

do for [verb in 'write read send'] {
	set output verb . '_bw.svg'
	set title 'RDMA ' . verb . ', one queue pair, MTU 1500'
	set ylabel 'MiB/s'
	plot for [c = 2:4] verb . '_bw.dat' using 1:c title columnheader(c) lw 2
}

unset logscale y
set style data histogram
set style histogram clustered gap 1
set style fill solid
unset logscale x
set yrange [0:*]

set output 'latency.svg'
set title 'latency of 64 octets, MTU 1500 (write, read, send)'
set ylabel 'microseconds'
set xlabel ''
plot for [c = 2:4] 'latency.dat' using c:xtic(1) title columnheader(c)

set output 'rate.svg'
set title 'message rate, 64 octets, MTU 1500'
set ylabel '1000 messages/s'
plot for [c = 2:4] 'rate.dat' using c:xtic(1) title columnheader(c)

set output 'qps.svg'
set title 'RDMA Write of 64 KiB over several queue pairs, sum, MTU 1500'
set ylabel 'MiB/s'
set xlabel 'queue pairs'
plot for [c = 2:4] 'qps.dat' using c:xtic(1) title columnheader(c)
