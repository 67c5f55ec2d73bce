//! The processes of the lab that stand beside Surefoot, or use it as its users do. The lab starts them through this binary.

use surefoot_lab::plain::payments::{self, Manner, PaymentOptions};

use crate::args::{PaymentManner, PaymentServiceArgs};
use crate::exit::Failed;
use crate::output;

pub(super) async fn serve_payments(args: PaymentServiceArgs) -> Result<(), Failed> {
    let options = PaymentOptions {
        manner: match args.manner {
            PaymentManner::CheckThenAct => Manner::CheckThenAct,
            PaymentManner::ChargeOnly => Manner::ChargeOnly,
        },
        database: args.payments,
        provider: args.provider,
    };
    Ok(payments::serve(options, output::write_line).await?)
}
