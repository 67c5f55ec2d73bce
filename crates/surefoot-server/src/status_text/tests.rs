//! States beside their sentences, in both languages.

use surefoot_core::id::{Epoch, Worker};
use surefoot_core::job::{Death, Run};
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::text::{ErrorFingerprint, ErrorText};

use super::*;

/// 2026-11-30T10:30:00Z.
const NOW: Timestamp = Timestamp::from_micros(1_796_034_600_000_000);
const MINUTE: i64 = 60_000_000;

fn later(minutes: i64) -> Timestamp {
    Timestamp::from_micros(NOW.as_micros() + minutes * MINUTE)
}

fn pending(due_at: Timestamp) -> JobState {
    JobState::Pending { due_at }
}

fn running(cancel_requested: bool) -> JobState {
    JobState::Running(Run {
        epoch: Epoch(1),
        worker: Worker::new("w").unwrap(),
        started_at: NOW,
        lease_until: later(1),
        recovery: Some(Recovery::SameKey),
        cancel_requested,
    })
}

fn retrying(due_at: Timestamp) -> JobState {
    JobState::Retrying {
        due_at,
        error: ErrorText::from("502"),
    }
}

fn dead(reason: DeadReason) -> JobState {
    let fingerprint = ErrorFingerprint::from_bits(1);
    JobState::Dead(Death {
        at: NOW,
        reason,
        error: ErrorText::from("no"),
        fingerprint,
    })
}

fn ended(make: impl Fn(Timestamp, ErrorText) -> JobState) -> JobState {
    make(NOW, ErrorText::from("asked"))
}

#[test]
fn each_state_has_its_sentence_in_both_languages() {
    let cancelled = ended(|at, reason| JobState::Cancelled { at, reason });
    let ignored = ended(|at, reason| JobState::Ignored { at, reason });
    let succeeded = JobState::Succeeded {
        at: NOW,
        result: Payload::null(),
    };
    let table: [(JobState, u32, bool, &str, &str); 26] = [
        (
            pending(NOW),
            0,
            false,
            "Waiting for its turn.",
            "Đang chờ đến lượt.",
        ),
        (
            pending(later(2)),
            0,
            false,
            "Planned for 10:32 UTC.",
            "Dự kiến bắt đầu lúc 10:32 UTC.",
        ),
        (
            pending(later(24 * 60)),
            0,
            false,
            "Planned for 2026-12-01 10:30 UTC.",
            "Dự kiến bắt đầu lúc 2026-12-01 10:30 UTC.",
        ),
        (
            running(false),
            1,
            false,
            "In progress.",
            "Đang được thực hiện.",
        ),
        (
            running(false),
            3,
            false,
            "In progress; this is try 3.",
            "Đang được thực hiện; đây là lần thử thứ 3.",
        ),
        (
            running(true),
            1,
            false,
            "Being stopped, as was asked.",
            "Đang dừng lại theo yêu cầu.",
        ),
        (
            retrying(later(2)),
            1,
            false,
            "A temporary fault; trying again at 10:32 UTC.",
            "Gặp lỗi tạm thời; sẽ thử lại lúc 10:32 UTC.",
        ),
        (
            retrying(NOW),
            1,
            false,
            "A temporary fault; trying again soon.",
            "Gặp lỗi tạm thời; sắp thử lại.",
        ),
        (
            retrying(later(2)),
            1,
            true,
            "We do not know yet whether it happened; trying again at 10:32 UTC.",
            "Chưa biết việc này đã xảy ra hay chưa; sẽ thử lại lúc 10:32 UTC.",
        ),
        (
            retrying(NOW),
            1,
            true,
            "We do not know yet whether it happened; trying again soon.",
            "Chưa biết việc này đã xảy ra hay chưa; sắp thử lại.",
        ),
        (succeeded, 2, false, "Done.", "Đã xong."),
        (
            dead(DeadReason::Permanent),
            1,
            false,
            "It could not be done; we are looking into it.",
            "Không thể thực hiện được; chúng tôi đang xem xét.",
        ),
        (
            dead(DeadReason::Exhausted),
            5,
            false,
            "It could not be done; we are looking into it.",
            "Không thể thực hiện được; chúng tôi đang xem xét.",
        ),
        (
            dead(DeadReason::Exhausted),
            5,
            true,
            "We do not know yet whether it happened; a person is looking into it.",
            "Chưa biết việc này đã xảy ra hay chưa; có người đang xem xét.",
        ),
        (
            dead(DeadReason::Deadline),
            0,
            false,
            "It was not done in time; we are looking into it.",
            "Không kịp hoàn thành trong thời hạn; chúng tôi đang xem xét.",
        ),
        (
            dead(DeadReason::Deadline),
            1,
            true,
            "We do not know yet whether it happened; a person is looking into it.",
            "Chưa biết việc này đã xảy ra hay chưa; có người đang xem xét.",
        ),
        (
            dead(DeadReason::CrashLoop),
            3,
            true,
            "It was interrupted again and again, and we do not know whether it happened; a person is looking into \
             it.",
            "Việc này bị gián đoạn nhiều lần và chưa biết đã xảy ra hay chưa; có người đang xem xét.",
        ),
        (
            dead(DeadReason::OutcomeUnknown),
            1,
            true,
            "We do not know yet whether it happened; a person is looking into it.",
            "Chưa biết việc này đã xảy ra hay chưa; có người đang xem xét.",
        ),
        (
            dead(DeadReason::OutcomeUnknown),
            1,
            false,
            "We do not know yet whether it happened; a person is looking into it.",
            "Chưa biết việc này đã xảy ra hay chưa; có người đang xem xét.",
        ),
        (cancelled.clone(), 0, false, "It was cancelled.", "Đã hủy."),
        (cancelled.clone(), 1, false, "It was cancelled.", "Đã hủy."),
        (
            cancelled,
            1,
            true,
            "It was cancelled; we do not know whether the last try took effect.",
            "Đã hủy; chưa biết lần thử cuối có hiệu lực hay không.",
        ),
        (
            ignored.clone(),
            5,
            false,
            "It was set aside and will not be done.",
            "Đã gác lại và sẽ không thực hiện.",
        ),
        (
            ignored,
            1,
            true,
            "It was set aside; we do not know whether it happened.",
            "Đã gác lại; không biết việc này đã xảy ra hay chưa.",
        ),
        (
            dead(DeadReason::Permanent),
            2,
            false,
            "It could not be done; we are looking into it.",
            "Không thể thực hiện được; chúng tôi đang xem xét.",
        ),
        (
            pending(NOW),
            4,
            true,
            "Waiting for its turn.",
            "Đang chờ đến lượt.",
        ),
    ];
    for (state, starts, may_have_happened, english, vietnamese) in &table {
        let facts = StatusFacts {
            state,
            starts: *starts,
            may_have_happened: *may_have_happened,
            now: NOW,
        };
        assert_eq!(status_text(facts, English), *english);
        assert_eq!(status_text(facts, Vietnamese), *vietnamese);
    }
}
