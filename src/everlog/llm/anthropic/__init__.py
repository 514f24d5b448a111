"""The messages protocol of Anthropic, on its official SDK (extra `anthropic`).

Bodies are made without the SDK. It is imported when the first request goes out, and retries nothing by itself.
"""
