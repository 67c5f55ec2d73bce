//! The key of an effect. It is made of what is on record, never of a clock or a generator, so that every attempt finds the
//! same one.

use std::fmt;

use super::JobId;

/// The key that the engine gives to a provider for one job's effect. It stays the same over all attempts,
/// crashes and nodes; only a replay as a *new* effect changes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProviderKey(String);

impl ProviderKey {
    /// The key of a job's first effect in its generation (1 at first).
    #[must_use]
    pub fn of(job: JobId, generation: u32) -> Self {
        Self::of_effect(job, generation, 0)
    }

    /// The key of a job's effect at a place, counted from 0.
    #[must_use]
    pub fn of_effect(job: JobId, generation: u32, place: u32) -> Self {
        Self(match (generation, place) {
            (0 | 1, 0) => job.to_string(),
            (generation, 0) => format!("{job}.{generation}"),
            (generation, place) => format!("{job}.{generation}.{place}"),
        })
    }

    /// The job, the generation and the place of a key that was made here; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<(JobId, u32, u32)> {
        let mut parts = text.split('.');
        let job = parts.next()?.parse().ok()?;
        let mut number = |otherwise| match parts.next() {
            None => Some(otherwise),
            Some(digits) => digits.parse().ok(),
        };
        let (generation, place) = (number(1)?, number(0)?);
        (Self::of_effect(job, generation, place).as_str() == text)
            .then_some((job, generation, place))
    }

    /// The key as it travels, for example in `Idempotency-Key`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn a_provider_key_changes_only_with_its_generation() {
        let job = JobId::new(Timestamp::from_micros(0), [7; 10]);
        assert_eq!(ProviderKey::of(job, 1), ProviderKey::of(job, 1));
        assert_ne!(ProviderKey::of(job, 1), ProviderKey::of(job, 2));
    }

    #[test]
    fn a_provider_key_names_its_effect_and_reads_back() {
        let job = JobId::new(Timestamp::from_micros(0), [7; 10]);
        let places = [(1, 0), (2, 0), (1, 1), (3, 12)];
        for (generation, place) in places {
            let key = ProviderKey::of_effect(job, generation, place);
            assert_eq!(
                ProviderKey::parse(key.as_str()),
                Some((job, generation, place))
            );
        }
        for other in [
            "",
            "key",
            &format!("{job}.1"),
            &format!("{job}.2.0"),
            &format!("{job}.2.1.4"),
        ] {
            assert_eq!(ProviderKey::parse(other), None, "{other}");
        }
    }
}
