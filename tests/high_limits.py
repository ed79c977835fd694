"""Limits that no test or benchmark reaches, although hundreds of people come from one address: all is still counted."""

HIGH_LIMITS = {
    f"{name}_per_{subject}": 10**9
    for name in ("sockets", "frames", "new_sessions")
    for subject in ("person", "address")
} | {
    "sign_ins_per_address": 10**9,
    "queued_messages_per_person": 10**9,
    "tokens_per_person": 10**12,
    "artifact_bytes_per_person": 10**15,
}
