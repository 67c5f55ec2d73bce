//! Every statement of this store is prepared against the schema, so that none waits for its first use to be wrong.
