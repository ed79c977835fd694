"""The engine behind `LlmAgent`: steps, requests, function calls. Private to the runtime."""
