"""HTML of Markdown: whole answers, answers that grow, their links, formulas and citations."""
