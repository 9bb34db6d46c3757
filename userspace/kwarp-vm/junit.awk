# junit.awk: converts the output of a command to a JUnit file: TAP to a testcase for each result,
# any other output to one testcase. Variables: status, the exit status; seconds; began, the time of
# the start. Environment: suite, the name of the suite; command; reason, a text if the guest failed,
# not the command.

BEGIN {
	name = ENVIRON["suite"]
	command = ENVIRON["command"]
	reason = ENVIRON["reason"]
}

function xml(text) {
	gsub(/[\001-\010\013-\037\177]/, "", text)
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	gsub(/"/, "\\&quot;", text)
	return text
}

# add(KIND, TITLE, MESSAGE): a case; KIND is empty for one that passed
function add(kind, title, message) {
	n++
	kinds[n] = kind
	titles[n] = title
	messages[n] = message
	count[kind]++
}

# tail(TEXT): the last lines of a long text
function tail(text,    lines, k, from, out) {
	k = split(text, lines, "\n")
	from = k > 200 ? k - 199 : 1
	for (; from <= k; from++)
		out = out lines[from] (from < k ? "\n" : "")
	return out
}

{ sub(/\r$/, ""); all = all $0 "\n" }

/^TAP version / { tap = 1; next }
/^1\.\.[0-9]+/ {
	tap = 1
	planned = 1
	plan = substr($0, 4) + 0
	if (plan == 0)
		add("skipped", "all", $0)
	next
}
/^Bail out!/ { bailed = $0; next }
/^(not )?ok [0-9]+/ || (tap && /^(not )?ok( |$)/) {
	tap = 1
	ran++
	failed = /^not /
	title = $0
	sub(/^(not )?ok */, "", title)
	sub(/^[0-9]+ */, "", title)
	sub(/^- */, "", title)
	directive = ""
	if (match(title, / *# *([Ss][Kk][Ii][Pp]|[Tt][Oo][Dd][Oo])/)) {
		directive = substr(title, RSTART)
		sub(/^ *# */, "", directive)
		title = substr(title, 1, RSTART - 1)
	}
	if (title == "")
		title = "test " ran
	if (tolower(directive) ~ /^skip/ || (failed && directive != ""))
		add("skipped", title, directive)
	else
		add(failed ? "failure" : "", title, failed ? "not ok" : "")
	last = n
	next
}
# Lines after a case are its description.
last { details[last] = details[last] $0 "\n" }

END {
	if (!tap) {
		add(reason != "" ? "error" : status ? "failure" : "", command,
			reason != "" ? reason : status ? "exit status " status : "")
		details[n] = tail(all)
	} else {
		if (bailed != "")
			add("error", "bail out", bailed)
		if (reason != "")
			add("error", "the guest", reason)
		else if (bailed == "" && !planned)
			add("error", "plan", "the output has no plan (1..N)")
		else if (bailed == "" && planned && plan != ran + 0)
			add("error", "plan", plan " tests were planned, " ran + 0 " ran")
		if (reason == "" && status && !count["failure"] && !count["error"])
			add("failure", "exit status", "exit status " status)
	}
	printf "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
	printf "<testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\"", xml(name), n,
		count["failure"], count["error"]
	printf " skipped=\"%d\" time=\"%d\" timestamp=\"%s\">\n", count["skipped"], seconds, began
	for (i = 1; i <= n; i++) {
		printf "<testcase classname=\"%s\" name=\"%s\"", xml(name), xml(titles[i])
		if (kinds[i] == "" && details[i] == "") {
			print "/>"
			continue
		}
		print ">"
		if (kinds[i] == "skipped")
			printf "<skipped message=\"%s\"/>\n", xml(messages[i])
		else if (kinds[i] != "")
			printf "<%s message=\"%s\">%s</%s>\n", kinds[i], xml(messages[i]),
				xml(tail(details[i])), kinds[i]
		else
			printf "<system-out>%s</system-out>\n", xml(tail(details[i]))
		print "</testcase>"
	}
	print "</testsuite>\n</testsuites>"
}
