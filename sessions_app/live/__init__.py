"""Live view of a session: committed events, growing text and notices for open tabs.

    execution --> Hub --> SessionFeed of each reader in this process
                   |
                 Relay --> Redis --> Relay --> Hub --> SessionFeed ...   (other processes)

News is a hint. Anything here may be lost, late or repeated: a feed knows the last `seq` it returned and reads missing
events from PostgreSQL, offsets make lost text visible, and a slow tick compares all watched sessions with their rows.
"""
