"""The site's agents, served by the Agent-User Interaction protocol (AG-UI); see docs/ag-ui.md.

endpoint.py     the address; the only module that works without the package `ag-ui-protocol`
run_input.py    what a request asks for: a message, answers, changes of the state
requests.py     turns this into calls of use cases
place.py        place in a stream, the id of its events
thread_stream.py follows the thread until it rests
event_frames.py events of the log, and growing texts, as events of AG-UI
messages.py     events of the log as messages of AG-UI
interrupts.py   what waits for the person, and how an answer is read
"""
