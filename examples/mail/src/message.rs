//! The job: one message. The provider sends whatever it is given, as often as it is given it, so what an unknown outcome
//! means depends on what a second copy would do to its reader.

use serde::{Deserialize, Serialize};
use surefoot::core::effect::EffectRecovery;
use surefoot::core::id::ProviderKey;
use surefoot::{AtMostOnce, Cx, Job, Outcome, Repeatable, Verify};

use crate::provider::{self, Provider};
use crate::settings::Settings;

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// An advertisement. A second copy is a small nuisance, so what is uncertain is sent again.
    Marketing,
    /// A one-time code. A second one makes the first one invalid in its reader's hands, so what is uncertain is never sent
    /// again by itself: the one who waits for it is asked.
    OneTimeCode,
    /// A receipt. It must arrive, and two of them look like two payments, so the provider is asked.
    Receipt,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Marketing, Self::OneTimeCode, Self::Receipt];

    /// The name of its effect on record.
    #[must_use]
    pub const fn effect(self) -> &'static str {
        match self {
            Self::Marketing => "mail.marketing",
            Self::OneTimeCode => "mail.one_time_code",
            Self::Receipt => "mail.receipt",
        }
    }

    /// What it means that nobody knows whether it was sent.
    #[must_use]
    pub const fn recovery(self, settings: &Settings) -> EffectRecovery {
        match self {
            Self::Marketing => EffectRecovery::Repeatable,
            Self::OneTimeCode => EffectRecovery::AtMostOnce,
            Self::Receipt => EffectRecovery::Verify {
                settles_within: settings.settles,
            },
        }
    }
}

/// A message to one person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// What makes it one message, such as `receipt/order-7`.
    pub id: String,
    /// What kind of message it is.
    pub class: Class,
    /// To whom.
    pub to: String,
    /// What it is about.
    pub subject: String,
    /// What it says.
    pub body: String,
}

/// A message that the provider took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// What the provider calls it.
    pub provider_message_id: String,
}

impl Job for Message {
    const KIND: &'static str = "mail";
    type Output = Sent;

    fn key(&self) -> Option<String> {
        Some(self.id.clone())
    }
}

/// Sends one message. When this runs again after it was sent, the effect is on record and nothing is called.
///
/// # Errors
/// What the provider answered; where nobody knows, the class decides what follows.
pub async fn send(
    message: Message,
    cx: Cx,
    provider: Provider,
    settings: Settings,
) -> Outcome<Sent> {
    let effect = cx
        .effect(message.class.effect())
        .dependency(provider::NAME)?;
    let call = |key: ProviderKey| {
        let (provider, message) = (provider.clone(), message.clone());
        async move { provider.send(&message, key.as_str()).await }
    };
    match message.class {
        Class::Marketing => effect.recover(Repeatable).call(call).await,
        Class::OneTimeCode => effect.recover(AtMostOnce).call(call).await,
        Class::Receipt => {
            let ask = Verify::by(|key: ProviderKey| {
                let provider = provider.clone();
                async move { provider.find(key.as_str()).await }
            });
            let ask = ask.settles_within(settings.settles);
            effect.recover(ask.plan(settings.plan())).call(call).await
        }
    }
}
