"""Engine of `LlmAgent`: steps, requests, function calls. Private to the runtime."""
