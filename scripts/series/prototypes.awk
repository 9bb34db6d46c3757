# prototypes.awk: converts a header with inline functions to the header of a library, which has
# prototypes of the functions for programs. The section of helper functions is removed.

function emit(text,	at, n, i, parts, line, pad) {
	sub(/^static inline /, "", text)
	at = index(text, "(")
	n = split(substr(text, at + 1), parts, /, */)
	line = substr(text, 1, at)
	pad = sprintf("%" at "s", "")
	while (pad ~ /^\t*        /)
		sub(/        /, "\t", pad)
	for (i = 1; i <= n; i++) {
		if (i > 1 && length(line) + length(parts[i]) > 76) {
			print line
			line = pad
		} else if (i > 1) {
			line = line " "
		}
		line = line parts[i] (i < n ? "," : ";")
	}
	print line
}

/^\/\* ---- a method call/ { skip = 1 }
/^\/\* ---- attached sockets/ { skip = 0 }
skip { next }
/^static inline / { head = ""; inside = 1 }
inside {
	line = $0
	sub(/^[ \t]+/, head == "" ? "&" : " ", line)
	if ($0 == "{") {
		emit(head)
		inside = 0
		body = 1
		next
	}
	head = head line
	next
}
body { if ($0 == "}") body = 0; next }
{ print }
