//! The heartbeat's own connection, so that no other work stands before it.

use async_trait::async_trait;
use sqlx::postgres::PgConnectOptions;
use surefoot_core::error::StoreError;
use surefoot_core::port::{Beat, Extension, Heart};
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::connections::Connections;
use super::front::Front;
use super::lease::beat;

/// See the module. The connection is made in the runtime that asks for it and again when it is lost.
pub(super) struct PostgresHeart {
    caller: Caller,
}

impl PostgresHeart {
    /// A heart with a connection that works.
    pub(super) async fn start(
        connect: &PgConnectOptions,
        like: &Caller,
    ) -> Result<Self, StoreError> {
        let caller = Caller {
            connections: Connections::new(connect.clone(), 1),
            schema: like.schema.clone(),
            front: Front::default(),
            timeout: like.timeout,
            through_pooler: like.through_pooler,
        };
        caller.begin().await?.end().await?;
        Ok(Self { caller })
    }
}

#[async_trait]
impl Heart for PostgresHeart {
    async fn beat(&mut self, leases: &[Extension], _now: Timestamp) -> Result<Beat, StoreError> {
        beat(&self.caller, leases).await
    }
}
