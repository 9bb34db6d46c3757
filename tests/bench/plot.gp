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

# picture.csv: rate and latency by size, the picture of README.md. "about" says what was measured.
if (!exists('about')) about = ''
picture = system('test ! -e picture.csv || echo picture.csv')
if (picture ne '') {
	reset
	set datafile separator ','
	set terminal svg size 960,430 fixed background rgb 'white' \
		font 'Helvetica,Arial,sans-serif,14' linewidth 1.6
	set output 'picture.svg'
	array name[4] = ['kwarp', 'siw (Linux)', 'rxe (Linux)', 'TCP, no RDMA']
	array colour[4] = ['#0057b8', '#d95f02', '#1b9e77', '#777777']
	array width[4] = [2.2, 1.3, 1.3, 1.3]
	array dash[4] = [1, 1, 1, 2]
	array point[4] = [7, 5, 9, 4]
	set multiplot layout 1,2 title about font ',13' margins 0.075,0.985,0.22,0.83 \
		spacing 0.085,0
	set logscale xy
	set xrange [48:1400000]
	set xtics ('64' 64, '256' 256, '1 Ki' 1024, '4 Ki' 4096, '16 Ki' 16384, '64 Ki' 65536, \
		'256 Ki' 262144, '1 Mi' 1048576) font ',12' scale 0.5
	set ytics font ',12' scale 0.5
	set format y '%.0f'
	set xlabel 'message, bytes' offset 0,0.4
	set grid xtics ytics lc rgb '#d8d8d8' lw 0.6 lt 1
	set border 3 lc rgb '#444444' lw 0.8
	set tics nomirror
	set key at screen 0.5,0.03 center bottom maxrows 1 samplen 2.5 width 2
	set title 'RDMA Write: MiB/s, more is better' font ',15' offset 0,-0.4
	plot for [c = 1:4] picture using 1:c + 1 with linespoints title name[c] \
		lc rgb colour[c] lw width[c] dt dash[c] pt point[c] ps 0.6
	set title 'Send, by turns: µs one way, less is better' font ',15' offset 0,-0.4
	set nokey
	plot for [c = 1:4] picture using 1:c + 5 with linespoints \
		lc rgb colour[c] lw width[c] dt dash[c] pt point[c] ps 0.6
	unset multiplot
}
