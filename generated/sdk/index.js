export { followAgentSession } from "./agent-sessions.js";
export { createClient, unwrap } from "./client.js";
export { deviceLogin } from "./device-login.js";
export { ExpiredError, NotAllowedError, NotSignedInError, RateLimitedError, StreamError, SvcError, UnavailableError, } from "./errors.js";
export { events } from "./events.js";
export { memoryTokenStore, openSession } from "./session.js";
export { streamChatCompletion, streamMessage, streamResponse } from "./streams.js";
