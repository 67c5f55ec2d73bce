//! What a job's state means, in a sentence for people who wait for it. It never says more than is known: a call
//! that may have taken effect is not called a failure, and no technical word is used.

use surefoot_core::job::{DeadReason, JobState};
use surefoot_core::time::Timestamp;

use crate::language::Language;
use crate::language::Language::{English, Vietnamese};
use crate::wire::civil;

/// What the sentence of [`status_text`] is made from.
#[derive(Clone, Copy, Debug)]
pub struct StatusFacts<'a> {
    /// The job's state.
    pub state: &'a JobState,
    /// How often it was started.
    pub starts: u32,
    /// Whether it may have happened and nobody knows ([`may_have_happened`](crate::may_have_happened)).
    pub may_have_happened: bool,
    /// The time at which the sentence is read.
    pub now: Timestamp,
}

/// The state of a job in a sentence for whoever waits for it. It names times in UTC.
#[must_use]
pub fn status_text(facts: StatusFacts<'_>, language: Language) -> String {
    match facts.state {
        JobState::Pending { due_at } => pending(*due_at, facts.now, language),
        JobState::Running(run) => running(run.cancel_requested, facts.starts, language),
        JobState::Retrying { due_at, .. } => retrying(facts, *due_at, language),
        JobState::Verifying { due_at, .. } => verifying(*due_at, facts.now, language),
        JobState::Succeeded { .. } => pick(language, "Done.", "Đã xong."),
        JobState::Dead(death) => dead(facts, death.reason, language),
        JobState::Cancelled { .. } if facts.may_have_happened => pick(
            language,
            "It was cancelled; we do not know whether the last try took effect.",
            "Đã hủy; chưa biết lần thử cuối có hiệu lực hay không.",
        ),
        JobState::Cancelled { .. } => pick(language, "It was cancelled.", "Đã hủy."),
        JobState::Ignored { .. } if facts.may_have_happened => pick(
            language,
            "It was set aside; we do not know whether it happened.",
            "Đã gác lại; không biết việc này đã xảy ra hay chưa.",
        ),
        JobState::Ignored { .. } => pick(
            language,
            "It was set aside and will not be done.",
            "Đã gác lại và sẽ không thực hiện.",
        ),
    }
}

fn pick(language: Language, english: &str, vietnamese: &str) -> String {
    match language {
        English => english,
        Vietnamese => vietnamese,
    }
    .to_owned()
}

fn pending(due_at: Timestamp, now: Timestamp, language: Language) -> String {
    if due_at <= now {
        return pick(language, "Waiting for its turn.", "Đang chờ đến lượt.");
    }
    let time = clock(due_at, now);
    match language {
        English => format!("Planned for {time}."),
        Vietnamese => format!("Dự kiến bắt đầu lúc {time}."),
    }
}

fn running(cancel_requested: bool, starts: u32, language: Language) -> String {
    if cancel_requested {
        return pick(
            language,
            "Being stopped, as was asked.",
            "Đang dừng lại theo yêu cầu.",
        );
    }
    match (language, starts) {
        (English, 0 | 1) => "In progress.".to_owned(),
        (Vietnamese, 0 | 1) => "Đang được thực hiện.".to_owned(),
        (English, _) => format!("In progress; this is try {starts}."),
        (Vietnamese, _) => format!("Đang được thực hiện; đây là lần thử thứ {starts}."),
    }
}

fn retrying(facts: StatusFacts<'_>, due_at: Timestamp, language: Language) -> String {
    let fault = if facts.may_have_happened {
        pick(
            language,
            "We do not know yet whether it happened",
            "Chưa biết việc này đã xảy ra hay chưa",
        )
    } else {
        pick(language, "A temporary fault", "Gặp lỗi tạm thời")
    };
    let time = clock(due_at, facts.now);
    match (language, due_at <= facts.now) {
        (English, true) => format!("{fault}; trying again soon."),
        (English, false) => format!("{fault}; trying again at {time}."),
        (Vietnamese, true) => format!("{fault}; sắp thử lại."),
        (Vietnamese, false) => format!("{fault}; sẽ thử lại lúc {time}."),
    }
}

fn verifying(due_at: Timestamp, now: Timestamp, language: Language) -> String {
    let time = clock(due_at, now);
    match (language, due_at <= now) {
        (English, true) => "We are asking whether it went through.".to_owned(),
        (English, false) => {
            format!("We do not know yet whether it went through; asking again at {time}.")
        }
        (Vietnamese, true) => "Đang kiểm tra xem việc này đã được thực hiện chưa.".to_owned(),
        (Vietnamese, false) => {
            format!("Chưa biết việc này đã được thực hiện hay chưa; sẽ kiểm tra lại lúc {time}.")
        }
    }
}

fn dead(facts: StatusFacts<'_>, reason: DeadReason, language: Language) -> String {
    match reason {
        DeadReason::Permanent | DeadReason::Exhausted | DeadReason::Deadline
            if facts.may_have_happened =>
        {
            dead_unknown(language)
        }
        DeadReason::OutcomeUnknown => dead_unknown(language),
        DeadReason::CrashLoop => pick(
            language,
            "It was interrupted again and again, and we do not know whether it happened; a person is looking into it.",
            "Việc này bị gián đoạn nhiều lần và chưa biết đã xảy ra hay chưa; có người đang xem xét.",
        ),
        DeadReason::Deadline => pick(
            language,
            "It was not done in time; we are looking into it.",
            "Không kịp hoàn thành trong thời hạn; chúng tôi đang xem xét.",
        ),
        DeadReason::Permanent | DeadReason::Exhausted => pick(
            language,
            "It could not be done; we are looking into it.",
            "Không thể thực hiện được; chúng tôi đang xem xét.",
        ),
    }
}

fn dead_unknown(language: Language) -> String {
    pick(
        language,
        "We do not know yet whether it happened; a person is looking into it.",
        "Chưa biết việc này đã xảy ra hay chưa; có người đang xem xét.",
    )
}

/// `10:32 UTC` on the day of `now`, with the date on any other day.
fn clock(at: Timestamp, now: Timestamp) -> String {
    const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
    let same_day = at.as_micros() / DAY_MICROS == now.as_micros() / DAY_MICROS;
    let form = if same_day {
        "%H:%M UTC"
    } else {
        "%Y-%m-%d %H:%M UTC"
    };
    civil(at).strftime(form).to_string()
}

#[cfg(test)]
mod tests;
