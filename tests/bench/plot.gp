# gnuplot plot.gp, in the directory of the data: plots the results of "make bench" as SVG. The first
# line of a data file names its columns: the drivers that were measured. A file without columns is
# not plotted.
set terminal svg size 760,440 dynamic background rgb 'white' font 'sans,13'
set key top left
set grid ytics lc rgb '#dddddd'
set style data linespoints
set logscale xy
set xlabel 'message, bytes'
drivers(file) = words(system('head -n 1 ' . file)) - 1

do for [verb in 'write read send'] {
	file = verb . '_bw.dat'
	if (drivers(file) > 0) {
		set output verb . '_bw.svg'
		set title 'RDMA ' . verb . ', one queue pair, MTU 1500'
		set ylabel 'MiB/s'
		plot for [c = 2:drivers(file) + 1] file using 1:c title columnheader(c) lw 2
	}
}

unset logscale y
set style data histogram
set style histogram clustered gap 1
set style fill solid
unset logscale x
set yrange [0:*]

if (drivers('latency.dat') > 0) {
	set output 'latency.svg'
	set title 'latency of 64 bytes, MTU 1500 (write, read, send)'
	set ylabel 'microseconds'
	set xlabel ''
	plot for [c = 2:drivers('latency.dat') + 1] 'latency.dat' \
		using c:xtic(1) title columnheader(c)
}

if (drivers('rate.dat') > 0) {
	set output 'rate.svg'
	set title 'message rate, 64 bytes, MTU 1500'
	set ylabel '1000 messages/s'
	set xlabel ''
	plot for [c = 2:drivers('rate.dat') + 1] 'rate.dat' using c:xtic(1) title columnheader(c)
}

if (drivers('qps.dat') > 0) {
	set output 'qps.svg'
	set title 'RDMA Write of 64 KiB over several queue pairs, sum, MTU 1500'
	set ylabel 'MiB/s'
	set xlabel 'queue pairs'
	plot for [c = 2:drivers('qps.dat') + 1] 'qps.dat' using c:xtic(1) title columnheader(c)
}
