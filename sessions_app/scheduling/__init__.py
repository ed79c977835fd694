"""Scheduled tasks: three tools for agents, and the current time for an agent's instruction.

A sweep fires due tasks (`firing`): each due time becomes an invocation whose message is the task, and the agent answers
as if a person had written.

from sessions_app.scheduling import cancel_scheduled_task, list_scheduled_tasks, schedule_task, current_time_instruction

Agent(..., instruction=current_time_instruction, tools=[schedule_task, list_scheduled_tasks, cancel_scheduled_task])
"""

from sessions_app.scheduling.task_timing import current_time_instruction
from sessions_app.scheduling.tools import cancel_scheduled_task, list_scheduled_tasks, schedule_task

__all__ = ["cancel_scheduled_task", "current_time_instruction", "list_scheduled_tasks", "schedule_task"]
