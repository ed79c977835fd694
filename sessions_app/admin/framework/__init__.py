"""Parts of the audit admins:

guarded_views.GuardedAdmin             time limit of statements, masked secrets, visible hidden characters
base.ReadOnlyAdmin                     no changes; rights and remits decide about rows, columns and search
uncounted_list.UncountedChangeList     list without a count of its rows, with actions for one page
keyset_list.KeysetAdmin                lists of large tables, without counting and skipping rows
base.SessionRowAdmin                   rows of a session
staff_records.RecordedActsMixin        records of acts
confirmed_action.ConfirmedActionAdmin  an action, with a page for the reason
stoppable.StoppableAdmin               stop of a session's row, with a link in the list
runs.RunAdmin                          invocations and jobs: attempts, pages that refresh themselves
"""
