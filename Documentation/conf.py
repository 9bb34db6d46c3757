# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Sphinx: "make docs" (scripts/build/docs.sh)."""

import re

from docutils import nodes
from sphinx import addnodes

project = "kwarp"
root_doc = "index"
html_theme = "alabaster"
html_theme_options = {"description": "software iWARP RNIC", "page_width": "1100px"}
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
man_pages = [
    ("kwarp", "kwarp", "RDMA over any network interface", "", 7),
    ("kwarpctl", "kwarpctl", "make, tune and watch kwarp devices", "", 8),
    ("kwarp-vm", "kwarp-vm", "run a command in a guest with RDMA hosts", "", 1),
    ("kwarpdv", "kwarpdv", "RDMA on a TCP connection that a program has made", "", 3),
]
man_show_urls = False
today = "2026-11-23"
smartquotes = False
highlight_language = "none"

# What the kernel's sources have in declarations and no C parser knows.
c_id_attributes = ["__rcu", "__user", "__percpu", "__iomem", "__force", "__must_check", "__printf"]


def link_pages(app, doctree):
    """`NAME.rst <NAME.rst>`_ leads to the page, here as where the sources are read as they are."""
    for ref in list(doctree.findall(nodes.reference)):
        page = re.fullmatch(r"([\w-]+)\.rst", ref.get("refuri", ""))
        if page:
            link = addnodes.pending_xref("", refdomain="std", reftype="doc", reftarget=page[1],
                                         refdoc=app.env.docname, refexplicit=True, refwarn=True)
            link += nodes.inline("", ref.astext())
            ref.replace_self(link)


def setup(app):
    app.connect("doctree-read", link_pages)
