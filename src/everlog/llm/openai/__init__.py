"""The protocols of OpenAI, on its official SDK: chat completions, which many servers speak, and responses.

The SDK is imported when the first request goes out, and retries nothing by itself.
"""
