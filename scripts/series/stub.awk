# stub.awk: in a header, replaces the declaration of the function NAME by an inline function that
# returns VALUE (nothing, if VALUE is empty). Exits with 1 if there is no such declaration.
#   awk -v name=NAME -v value=VALUE -f stub.awk HEADER

# columns: returns the width of a line with tabs of 8
function columns(s,	i, n) {
	for (i = 1; i <= length(s); i++)
		n = substr(s, i, 1) == "\t" ? n - n % 8 + 8 : n + 1
	return n
}

# indent: returns tabs and blanks up to a column
function indent(n,	s) {
	for (; n >= 8; n -= 8)
		s = s "\t"
	for (; n > 0; n--)
		s = s " "
	return s
}

# emit: prints the function, with its parameters wrapped at commas
function emit(text,	head, list, n, i, parts, line, at) {
	at = index(text, "(")
	head = substr(text, 1, at)
	list = substr(text, at + 1)
	n = split(list, parts, /, */)
	line = "static inline " head
	at = columns(line)
	for (i = 1; i <= n; i++) {
		if (i > 1 && columns(line) + length(parts[i]) > 88) {
			print line
			line = indent(at)
		} else if (i > 1) {
			line = line " "
		}
		line = line parts[i] (i < n ? "," : "")
	}
	print line
	print "{"
	if (value != "")
		print "\treturn " value ";"
	print "}"
}

!inside && /^[a-z]/ && match($0, "[ *]" name "\\(") {
	inside = 1
	text = ""
}
inside {
	if (text == "" && last ~ /;$/)
		print ""
	line = $0
	sub(/^[ \t]+/, text == "" ? "&" : " ", line)
	text = text line
	if (text ~ /\);$/) {
		sub(/;$/, "", text)
		emit(text)
		inside = 0
		found = 1
		stubbed = 1
	}
	next
}
stubbed && $0 != "" { print "" }
{ print; last = $0; stubbed = 0 }
END { exit !found }
