"""The script of the demo model: what it understands, and what it says.

A whole message must match a pattern, so a message that only mentions a refund calls nothing. Patterns for tools that
change something are commands, never questions.
"""

import re

from adk_site.demo.recalled import TELLS
from adk_site.demo.sourced import SOURCED

DIGITS = r"\d{1,9}"
_LOOK_UP = r"(?:look (?:up|at)|compare|check(?: the status of)?|where (?:is|are)|(?:what's )?the status of)"
_MINE = r"(?:printer|wi-?fi|internet|network|router|screen|monitor|password|account)"

SCRIPT = {
    "look_up": rf"(?:return|take back) (?:my )?order {DIGITS}",
    "order_status": rf"(?:{_LOOK_UP} (?:my )?orders? )?"
    rf"(?P<order_number>{DIGITS}(?:,? (?:and|with) (?:order )?{DIGITS})*)\??",
    "refund_order": rf"refund (?:order (?P<order_number>{DIGITS})|it)",
    "write_invoice": rf"write (?:me )?(?:the|an) invoice (?:of|for) order (?P<order_number>{DIGITS})",
    "find_guide": rf"(?P<problem>(?:my|the) {_MINE}\b.*|I (?:cannot|can't) sign in|I forgot my password)",
    "write_report": r"write (?:me )?an? (?P<precise>precise )?report on (?:last year's )?(?P<topic>sales|returns)"
    r"(?: by (?P<group_by>region|product|month))?",
    "get_user_choice": r"write (?:me )?a report",
    "open_ticket": r"open a ticket: (?P<problem>.+)",
    "close_ticket": r"close (?:the|my) ticket",
    "remember_name": r"(?:my name is|call me(?= (?-i:[A-Z]))) (?P<name>[^\W\d][\w'-]*(?: [^\W\d][\w'-]*)?)",
    "show_profile": r"who am I\??|show (?:me )?my profile",
    "load_memory": r"what do (?P<query>I (?:like|prefer))\??",
    "search_knowledge": r"what does the handbook say (?:about|on) (?P<query>[^?]+)\??",
    "list_scheduled_tasks": r"(?:list|show) (?:me )?my (?:reminders|scheduled tasks)",
    "cancel_scheduled_task": rf"cancel (?:the |my )?(?:reminder|scheduled task) (?P<id>{DIGITS})",
}
"""Pattern of a whole message, by the tool that it requests. Named groups are arguments."""
SPECIALISTS = {
    "orders": ("order_status", "refund_order", "write_invoice"),
    "technical": ("find_guide",),
    "returns": ("look_up",),
}
"""Tools by agent; all other tools belong to the help desk. A workflow has the first of its nodes."""
EXAMPLES = [
    ("orders", "Where is order 1001?"),
    ("orders", "Compare orders 1001 and 1002"),
    ("orders", "Refund order 1042"),
    ("returns", "Return order 20990"),
    ("technical", "My printer does not print"),
    ("help_desk", "Write a report"),
    ("help_desk", "Write a report on last year's sales by month"),
    ("help_desk", "Remind me in 10 minutes to call the supplier"),
    ("help_desk", "Every day at 9, look up order 1003"),
    ("help_desk", "Show my reminders"),
    ("help_desk", "Open a ticket: no light"),
    ("help_desk", "What does the handbook say about late returns?"),
    ("help_desk", "I like green tea"),
    ("help_desk", "What do I like?"),
    ("", "Show code, a table and a formula"),
    ("", "Draw four pictures of the sea"),
    ("", "Show an answer with sources"),
]
REPORT_CHOICES = ["sales by region", "sales by month", "returns by product"]
SAMPLE = r"""
| Years | Capital at 3 % |
|------:|---------------:|
| 0 | 1,000.00 EUR |
| 10 | 1,343.92 EUR |

$$K_n = K_0 \left(1 + \frac{p}{100}\right)^n$$

```python
def grow(capital: float, percent: float, years: int) -> float:
    return capital * (1 + percent / 100) ** years
```
""".strip()
ABOUT_ME = "I am a demo model and answer by a script. Nothing was done now. You can type, for example:\n"
SMALL_TALK = {
    r"hello|hi|hey|good (?:morning|evening)": "Hello! I am a demo model with a small script. Ask me what I can do.",
    r"(?:many )?(?:thanks?|thank you)(?: a lot| very much)?": "You are welcome!",
    r"(?:good)?bye": "Goodbye!",
    TELLS: "I see. When this chat has ended, I will remember that in your other chats.",
    rf"{_LOOK_UP} (?:my|the|an) order\??": "Which order? Type its number, such as 1042.",
    r"show (?:me )?(?:an answer with )?sources": SOURCED,
    r"show (?:me )?(?:code|a table|a formula|markdown)\b.*": SAMPLE,
}
DRAW = r"(?:draw|paint) (?:me )?(?:(?P<number>two|three|four) pictures of )?(?P<subject>.+)"
NUMBERS = {"two": 2, "three": 3, "four": 4}
_UNIT = r"(?:(?P<count>\d{1,4}|an?|one) )?(?P<unit>(?:second|minute|hour|day|week)s?)"
WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
DAYS = {"day": "*", "weekday": "1-5", **{name: str(number) for number, name in enumerate(WEEKDAYS)}}
"""Days of the week in a cron expression by name."""
_DAILY = rf"every (?P<day>{'|'.join(DAYS)}) at (?P<hour>\d\d?)(?::(?P<minute>\d\d))?"
WHEN = re.compile(rf",? ?\b(?:(?P<word>in|every) {_UNIT}\b(?! at\b)|{_DAILY}\b),?", re.IGNORECASE)
