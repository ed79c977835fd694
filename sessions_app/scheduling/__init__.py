"""Tasks that an agent is told to do at a time: three tools, and the time for its instruction.

from sessions_app.scheduling import cancel_scheduled_task, list_scheduled_tasks, schedule_task, what_time_it_is

Agent(..., instruction=what_time_it_is, tools=[schedule_task, list_scheduled_tasks, cancel_scheduled_task])
"""

from sessions_app.scheduling.clock import what_time_it_is
from sessions_app.scheduling.tools import cancel_scheduled_task, list_scheduled_tasks, schedule_task

__all__ = ["cancel_scheduled_task", "list_scheduled_tasks", "schedule_task", "what_time_it_is"]
