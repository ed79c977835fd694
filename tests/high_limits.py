"""Limits that no test or benchmark reaches, although hundreds of people come from one address: all is still counted."""

HIGH_LIMITS = {
    f"{name}_per_{subject}": 10**9
    for name in ("sockets", "frames", "new_sessions")
    for subject in ("person", "address")
} | {
    "max_sign_ins_per_address": 10**9,
    "max_queued_messages_per_user": 10**9,
    "max_tokens_per_user": 10**12,
    "max_artifact_bytes_per_user": 10**15,
}
