"""Chaos test: kill real processes at random moments, then check in the database that nothing is lost or repeated.

people, acts, browser, page   the load: people who send messages, stop, edit, confirm and answer
processes                     the site's processes and servers, which are killed and restarted
conversation, calls, messages, states, verdict, evidence   the checks afterwards
progress                      the bound of a run, which may take long on a busy machine
run                           one run, repeatable by its seed
"""
