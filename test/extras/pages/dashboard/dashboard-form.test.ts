import { expect } from "chai";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";

describe("the form of a queue (in Chromium, else left out)", function () {
  this.timeout(60_000);
  const test = dashboardTest();
  const json = () => test.page.getByLabel("Input, as JSON");
  const submit = () => test.page.getByRole("button", { name: "Submit", exact: true }).click();
  const open = async (queue: string) => {
    await test.open(`/dashboard/queues/${queue}`);
    await test.page.getByRole("button", { name: "Submit a task" }).click();
    await json().waitFor();
  };

  it("begins with what the schema requires, and shows all that the queue accepts", async () => {
    await open("invoices");
    expect(JSON.parse(await json().inputValue())).to.deep.equal({ to: "", cents: 1 });
    await test.page.getByText("What the queue accepts").click();
    await test.page.getByText("Who gets it").waitFor();
    await open("gated");
    expect(await json().inputValue()).to.equal("{}");
  });

  it("sends the text as it was typed", async () => {
    await open("forms");
    for (const text of [
      ' {\n\t"name":"李😀 \\"x\\" \\\\","extra":[1,{"x":null}],"size":1.50}\n',
      '{"size":123456789012345678901234567890,"list":[9007199254740993,-0,1.10]}',
      '{"__proto__":{"a":1},"constructor":2,"deep":{"__proto__":3}}',
    ]) {
      await json().fill(text);
      const sent = test.page.waitForRequest((request) => request.method() === "POST");
      await submit();
      expect((await sent).postData()).to.equal(text);
      await test.page
        .getByRole("status")
        .getByText(/^Submitted as/)
        .waitFor();
    }
  });

  it("says where the input is wrong, and keeps it", async () => {
    await open("invoices");
    const trouble = test.page.getByRole("alert").filter({ hasText: /./ });
    for (const [text, told] of [
      ['{\n  "cents": x\n}', /"cents": x.*is not valid JSON/s],
      ['{"to":"nobody","cents":5}', /^#\/to: /],
      ["[1.0]", /expected object/],
    ] as const) {
      await json().fill(text);
      await submit();
      await trouble.getByText(told).waitFor();
      expect([await json().inputValue(), await json().getAttribute("aria-invalid")]).to.deep.equal([text, "true"]);
    }
    await json().fill('{"to":"ada@example.org","cents":150,"currency":"CNY","lines":["one"]}');
    await submit();
    const link = test.page.getByRole("status").getByRole("link");
    const id = await link.innerText();
    await test.until(id, "succeeded");
    expect(await test.json(`/v1/requests/${id}`)).to.include({ to: "ada@example.org", currency: "CNY" });
    expect(await trouble.count()).to.equal(0);
  });

  it("keeps what was entered when it is closed, and shows it when it is opened again", async () => {
    const { page } = test;
    await open("forms");
    await json().fill('{"name":"Ada"}');
    await page.getByLabel("Priority").selectOption("5");
    await json().press("Escape");
    await json().waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Submit a task" }).click();
    expect(await json().inputValue()).to.equal('{"name":"Ada"}');
    expect(await page.getByLabel("Priority").inputValue()).to.equal("5");
  });
});
