"""HTML of events, jobs, scheduled tasks and Markdown for pages and frames; the words of calls and questions."""
