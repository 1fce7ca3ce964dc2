package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/cli/doctor"
	"picobot/internal/testkit/fakefeishu"
)

func (h *harness) configFeishu(s *fakefeishu.Server, secret string) {
	h.t.Helper()
	h.configf(`{"gateway": {"addr": "127.0.0.1:0"}, "channels": {"feishu": {"enabled": true, "app_id": %q, "app_secret": %q, "domain": %q, "allow_from": ["*"]}}}`,
		fakefeishu.AppID, secret, s.URL())
}

func TestDoctor_Feishu_EverythingThere(t *testing.T) {
	h := newHarness(t)
	h.configFeishu(fakefeishu.Start(t, fakefeishu.Config{}), fakefeishu.AppSecret)
	found := h.examined(0)
	for _, check := range []string{"credentials", "bot", "scopes", "events", "long connection"} {
		require.Equal(t, doctor.OK, found["feishu "+check].Status, "%s: %+v", check, found["feishu "+check])
	}
}

func TestDoctor_Feishu_WhatIsMissing_IsNamedWithWhatToDo(t *testing.T) {
	h := newHarness(t)
	h.configFeishu(fakefeishu.Start(t, fakefeishu.Config{}), "another-secret")
	found := h.examined(1)
	require.Equal(t, doctor.Fail, found["feishu credentials"].Status)
	require.NotContains(t, found["feishu credentials"].Detail, "another-secret")

	h.configFeishu(fakefeishu.Start(t, fakefeishu.Config{NoBot: true, Scopes: []string{"im:message"}, Events: []string{"im.chat.updated_v1"}}), fakefeishu.AppSecret)
	found = h.examined(1)
	require.Equal(t, doctor.Fail, found["feishu bot"].Status)
	require.Equal(t, doctor.Warn, found["feishu scopes"].Status)
	require.Contains(t, found["feishu scopes"].Fix, "im:resource")
	require.NotContains(t, found["feishu scopes"].Fix, "im:message:send_as_bot", "im:message includes it")
	require.Equal(t, doctor.Warn, found["feishu events"].Status)

	h.configFeishu(fakefeishu.Start(t, fakefeishu.Config{NoAppInfo: true}), fakefeishu.AppSecret)
	found = h.examined(0)
	require.Contains(t, found["feishu events"].Detail, "not checked")
}
