// The door for other front ends: what carries keys and signals to a session, without anything that draws.

export {};
