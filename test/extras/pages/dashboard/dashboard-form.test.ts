import { expect } from "chai";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";

describe("the form of a queue and its JSON (in Chromium, else left out)", function () {
  this.timeout(60_000);
  const test = dashboardTest();
  const json = () => test.page.getByLabel("Input, as JSON");
  const list = () => test.page.getByRole("textbox", { name: "list" });
  const change = (to: "As a form" | "As JSON") => test.page.getByRole("button", { name: to }).click();
  const open = async () => {
    await test.open("/dashboard/queues/forms");
    await test.page.getByRole("button", { name: "Submit a task" }).click();
    await test.page.getByLabel("name").waitFor();
  };

  /** As it is written without any white space. */
  const TEXTS = [
    '{"name":"李😀 \\"x\\" \\\\","extra":[1,{"x":null}],"size":1.50}',
    '{"size":1e3,"list":[9007199254740993,-0,1.10,1E400]}',
    '{"size":-0}',
    '{"size":123456789012345678901234567890}',
    '{"size":1e999}',
    '{"size":"12"}',
    '{"name":null,"size":null,"kind":null,"list":null,"deep":null}',
    '{"name":"","kind":""}',
    '{"name":"two\\nlines"}',
    '{"name":"\\ud800"}',
    '{"name":5,"kind":"c","list":{"a":1}}',
    '{"deep":{}}',
    '{"deep":[1.0]}',
    '{"deep":{"city":"Ulm","more":{"x":-0}},"list":[]}',
    '{"__proto__":{"a":1},"constructor":2,"deep":{"__proto__":3}}',
  ];

  it("lose nothing when changing between them, whether something is edited or not", async () => {
    await open();
    await change("As JSON");
    for (const text of TEXTS) {
      const typed = ` ${text.replace("{", "{\n\t")}\n`;
      await json().fill(typed);
      await change("As a form");
      await change("As JSON");
      expect(await json().inputValue(), "as it was typed").to.equal(typed);
      await change("As a form");
      await test.page.getByLabel("flag").selectOption("true");
      await change("As JSON");
      const edited = (await json().inputValue()).replaceAll(/\n */g, "").replaceAll('": ', '":');
      expect(edited).to.equal(`${text.slice(0, -1)},"flag":true}`);
    }
  });

  it("leave out emptied fields, and name members without a field", async () => {
    const { page } = test;
    await open();
    await change("As JSON");
    await json().fill('{"name":null,"size":1.50,"deep":{"city":"Ulm"},"extra":1,"list":[1.0]}');
    await change("As a form");
    expect(await page.getByLabel("name").inputValue()).to.equal("null");
    expect(await page.getByLabel("size").inputValue()).to.equal("1.50");
    await page.getByText("Kept as entered, without a field here: extra").waitFor();
    for (const name of ["name", "size", "city"]) await page.getByLabel(name).fill("");
    const sent = page.waitForRequest((request) => request.method() === "POST");
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    expect((await sent).postData()).to.equal('{"extra":1,"list":[1.0]}');
    await page
      .getByRole("status")
      .getByText(/^Submitted as/)
      .waitFor();
  });

  it("do not change into each other if they cannot, and say why at the right place", async () => {
    const { page } = test;
    await open();
    await list().fill("[1, 2");
    await change("As JSON");
    const trouble = page.getByRole("alert").filter({ hasText: /./ });
    await trouble.getByText(/^list: this is not JSON/).waitFor();
    expect(await list().inputValue()).to.equal("[1, 2");
    expect(await list().getAttribute("aria-invalid")).to.equal("true");
    await list().fill("[1, 2]");
    await page.getByLabel("size").pressSequentially("1e");
    await change("As JSON");
    await trouble.getByText("size: this is not a number").waitFor();
    await page.getByLabel("size").fill("1e2");
    await change("As JSON");
    expect(JSON.parse(await json().inputValue())).to.deep.equal({ list: [1, 2], size: 100 });

    for (const [text, at, told] of [
      ['{\n  "size": x\n}', 12, "line 2, column 11"],
      ['{"size": 1', 10, "line 1, column 11"],
      ['{"size": 1,}', 11, "line 1, column 12"],
    ] as const) {
      await json().fill(text);
      await change("As a form");
      await trouble.getByText("It cannot be shown as a form until").waitFor();
      const error = page.locator("#submission-json\\:error").getByText(told);
      await error.waitFor();
      expect([await json().inputValue(), await json().getAttribute("aria-invalid")]).to.deep.equal([text, "true"]);
      expect(await json().evaluate((element) => Reflect.get(element, "selectionStart")), text).to.equal(at);
    }
    await json().fill("[1.0]");
    await change("As a form");
    await trouble.getByText("It cannot be shown as a form: it is an array, not an object.").waitFor();
    expect(await json().inputValue()).to.equal("[1.0]");
    expect(await page.locator("#submission-json\\:error").count()).to.equal(0);
  });

  it("keep what was entered when the form is closed, and show it when it is opened again", async () => {
    const { page } = test;
    await open();
    await page.getByLabel("name").fill("Ada");
    await page.getByLabel("Priority").selectOption("5");
    await page.getByLabel("name").press("Escape");
    await page.getByLabel("name").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Submit a task" }).click();
    expect(await page.getByLabel("name").inputValue()).to.equal("Ada");
    expect(await page.getByLabel("Priority").inputValue()).to.equal("5");
  });
});
