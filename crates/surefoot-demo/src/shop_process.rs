//! The process of the checkout over the whole act: its folder, which outlives it, and how it is killed and started again.

use tempfile::TempDir;

use crate::DemoOptions;
use crate::act::Act;
use crate::checkout::CheckoutOptions;
use crate::child::ChildProcess;
use crate::error::DemoError;

/// The process of the checkout, and how to start it again.
pub(crate) struct ShopProcess {
    options: CheckoutOptions,
    demo: DemoOptions,
    process: Option<ChildProcess>,
    _folder: TempDir,
}

impl ShopProcess {
    pub(crate) async fn start(
        act: Act,
        provider: &str,
        demo: &DemoOptions,
    ) -> Result<Self, DemoError> {
        let folder =
            TempDir::with_prefix("surefoot-demo-").map_err(DemoError::io("make a folder"))?;
        let mut checkout = Self {
            options: CheckoutOptions {
                act,
                provider: provider.to_owned(),
                folder: folder.path().to_owned(),
            },
            demo: demo.clone(),
            process: None,
            _folder: folder,
        };
        checkout.start_again().await?;
        Ok(checkout)
    }

    pub(crate) async fn start_again(&mut self) -> Result<(), DemoError> {
        let arguments = [self.demo.arguments.clone(), self.options.arguments()].concat();
        let folder = &self.options.folder;
        let process = ChildProcess::start(&self.demo.program, &arguments, folder).await?;
        self.process = Some(process);
        Ok(())
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.process.as_ref().map_or("", |process| &process.url)
    }
}
