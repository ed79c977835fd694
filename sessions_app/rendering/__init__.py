"""HTML of events, jobs, scheduled tasks and Markdown, for pages and frames.

Event --> blocks.py: its displayable parts --> html.py: context --> article.py: HTML --> event_html.py: cache
          questions.py: forms and answers                           markdown.py: text of agents
          call_words.py: words for calls
"""
