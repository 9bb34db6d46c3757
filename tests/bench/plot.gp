# gnuplot plot.gp, in the directory of picture.csv: plots rate and latency by size, the picture of
# README.md, as picture.svg. "about" says what was measured.
if (!exists('about')) about = ''
picture = 'picture.csv'
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
