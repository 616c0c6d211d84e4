"""RocketMQ's requests and answers: what a header and a body mean, in the engine's words."""
