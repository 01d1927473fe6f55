// Holds the precompiled header that all floors reuse.
