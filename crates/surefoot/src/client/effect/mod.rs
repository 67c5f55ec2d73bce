//! Effects from outside: what pull workers do about theirs, by the same decisions as a handler of the engine, and looking at
//! them. `begin` is what comes before a call, `told` what comes after it; `held` is who may write.

mod begin;
mod held;
mod told;

use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;

use super::Client;

pub use begin::EffectBegun;
pub use told::EffectTold;

impl Client {
    /// The effects of a job by place, confirmed or not.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn effects(&self, job: JobId) -> Result<Vec<Effect>, StoreError> {
        self.store.effects(&[job]).await
    }

    pub(in crate::client) async fn effect(
        &self,
        job: JobId,
        place: u32,
    ) -> Result<Option<Effect>, StoreError> {
        let effects = self.store.effects(&[job]).await?;
        Ok(effects.into_iter().find(|effect| effect.place == place))
    }
}
