"""Remembering: facts about users, which the site takes from their ended conversations.

`facts` finds the conversations and stores the facts; `fact_request` asks the model, and checks what it answers.
"""
